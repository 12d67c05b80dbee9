#!/bin/bash
pytest
